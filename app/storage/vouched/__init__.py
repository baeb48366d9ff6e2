"""Plans that statistics are sealed by, each good for one release."""
