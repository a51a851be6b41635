"""What surrounds every page: choosing a recording, its diagnosis in a process of its own, what several pages show."""
