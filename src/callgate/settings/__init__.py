"""Configuration: one file, validated once into one frozen value."""
