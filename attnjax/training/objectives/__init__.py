"""What training minimizes."""
