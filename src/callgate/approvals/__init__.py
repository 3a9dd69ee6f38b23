"""Approvals and grants: questions to people and their answers. Pure; knows no store and runs nothing."""
