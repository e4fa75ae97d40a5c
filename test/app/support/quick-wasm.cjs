// Compiles WebAssembly once and does not optimise it: PGlite then starts with a third of the CPU. Its queries take longer, which
// the few of a test do not make up for.
require('node:v8').setFlagsFromString('--liftoff-only');
