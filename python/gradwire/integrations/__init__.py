"""gradwire in frameworks around PyTorch. Each module imports its framework; gradwire itself imports
none of them. docs/integrations.md is the manual."""
