// Files written by hand use these names without their namespace.
using at::Type;
using c10::fmap;
