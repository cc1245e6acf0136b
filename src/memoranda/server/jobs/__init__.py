"""Scheduled jobs of a server: settings, schedules, work and results."""
