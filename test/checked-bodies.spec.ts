import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** The built package, in a process of its own. */
const BOOT = `
require('reflect-metadata');
const compiler = require('./dist/libs/memory-redis/src/lua/compiler.js');
const { compile } = compiler;
let parsed = 0;
compiler.compile = (source) => {
  parsed++;
  return compile(source);
};
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { DelayedTaskModule } = require('luanest/delayed-task');
const { LockModule, LockService } = require('luanest/lock');
const { RateLimitModule } = require('luanest/rate-limit');
const { LuanestTesting, LuanestTestingModule } = require('luanest/testing');

class App {}
Module({
  imports: [LuanestTestingModule.forRoot(), LockModule.forRoot(), RateLimitModule.forRoot(), DelayedTaskModule.forRoot()],
})(App);

async function main() {
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const boot = parsed;
  await (await app.get(LockService).acquire('a')).release();
  const calls = parsed - boot;
  const client = app.get(LuanestTesting).redis.client();
  const refused = await client.script('LOAD', 'return (').catch((error) => error.message);
  client.disconnect();
  await app.close();
  console.log(JSON.stringify({ boot, calls, refused }));
}
main();
`;

test('the built package parses a script of luanest when it first runs, and refuses broken Lua at SCRIPT LOAD', () => {
  const output = execFileSync(process.execPath, ['-e', BOOT], { cwd: join(__dirname, '..'), encoding: 'utf8' });
  expect(JSON.parse(output)).toEqual({
    // DelayedTaskModule runs one.
    boot: 1,
    calls: 2,
    refused: "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
  });
});
