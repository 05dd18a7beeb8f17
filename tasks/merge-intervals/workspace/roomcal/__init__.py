"""Free and busy times of meeting rooms."""
