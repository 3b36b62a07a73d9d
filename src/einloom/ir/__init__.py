"""The intermediate representation: `Operation` (what), `Schedule` (how), `Nest` (decided), and what they mean."""
