"""Measurements that are kept: `python -m bench SUITE` appends its rows to bench/log.jsonl."""
