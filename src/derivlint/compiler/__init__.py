"""What a C++ compiler says: the tables of type relations and names that are shipped, and the check of formulas."""
