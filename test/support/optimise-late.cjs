// V8 optimises a function in this process only after it has run fifteen times as much as usual. Most of what tests, linters and
// compilers load runs briefly, and a process on a busy machine then takes up to a quarter less CPU.
require('node:v8').setFlagsFromString('--interrupt-budget=1000000');
