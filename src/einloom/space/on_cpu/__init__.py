"""The space of a tensor operation's CPU implementations: its leaves are schedules."""
