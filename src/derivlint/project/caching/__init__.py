"""The cache on disk: findings, memos and native functions of earlier runs."""
