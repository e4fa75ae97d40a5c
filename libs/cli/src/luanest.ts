#!/usr/bin/env node
import { main } from './main';
import { terminal } from './terminal';

void main(process.argv.slice(2), terminal).then((status) => {
  process.exitCode = status;
});
