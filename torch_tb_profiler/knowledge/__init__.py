"""What is data, not code: recognition rules, specifications, thresholds and advice texts (TOML)."""
