import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { LONG } from './support/size';

const ENTRY = join(__dirname, 'support/worker-entry.cjs');
const WORKER = join(__dirname, 'support/closing-worker.ts');

let server: RedisServer;
let admin: Redis;

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.port);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

describe('app.close() leaves nothing open', () => {
  const others = LONG ? ['ioredis5', 'iovalkey', 'redis5'] : [];
  it.each(['connection', 'ioredis', 'redis', ...others])('with %s', async (client) => {
    await admin.flushall();
    const worker = spawn(process.execPath, [ENTRY, WORKER, client, String(server.port)]);
    const [left, errors, [code]] = await Promise.all([text(worker.stdout), text(worker.stderr), once(worker, 'exit')]);
    expect({ left, errors, code: code as number }).toEqual({ left: '[]', errors: '', code: 0 });
    expect((await admin.client('LIST')) as string).toMatch(/^id=\d+ [^\n]*\n?$/);
  });
});
