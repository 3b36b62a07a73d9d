"""Schedules of contractions: families that propose plans, blocking that makes schedules of them, the choice by cost."""
