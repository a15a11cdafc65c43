"""Devices and processes that a training runs on, and their memory."""
