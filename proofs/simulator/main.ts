// npm run simulate -- [--seconds S] [--seed N] [--runs N] [--lib NAME] [--without FAULT] [--trace] [--json]
import { setFlagsFromString } from 'node:v8';
import { installGlobals } from './engine/globals';

setFlagsFromString('--interrupt-budget=135168');
installGlobals();
// eslint-disable-next-line @typescript-eslint/no-require-imports -- it must be loaded after the globals are replaced
void (require('./campaign') as typeof import('./campaign')).main();
