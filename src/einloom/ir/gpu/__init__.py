"""Programs for GPUs as values: `launch` what threads do, `text` its text form, `simt` its meaning."""
