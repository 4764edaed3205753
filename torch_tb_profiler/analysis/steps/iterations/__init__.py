"""What cuts a recording into iterations, and the recording so cut."""
