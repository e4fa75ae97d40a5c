import {
  BadRequestException,
  Body,
  Controller,
  Header,
  HttpCode,
  InternalServerErrorException,
  Module,
  Param,
  Post,
  Res,
  StreamableFile,
  type INestApplication,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Idempotent, OnceModule } from 'luanest/once';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';

let runs = 0;
let gate: Promise<void> | undefined;
let failures = 0;

interface AnyResponse {
  header(name: string, value: string): unknown;
  status(code: number): unknown;
}

@Controller('orders')
class Orders {
  @Post()
  @Idempotent()
  @HttpCode(202)
  @Header('x-fixed', 'yes')
  async create(@Body() body: unknown, @Res({ passthrough: true }) response: AnyResponse): Promise<unknown> {
    runs += 1;
    response.header('x-run', String(runs));
    response.header('set-cookie', 'secret=1');
    await gate;
    return { run: runs, body };
  }

  @Post('text/:id')
  @Idempotent()
  text(@Param('id') id: string): string {
    return `order ${id}, run ${(runs += 1)}`;
  }

  @Post('nothing')
  @Idempotent()
  nothing(): void {
    runs += 1;
  }

  @Post('fails')
  @Idempotent()
  fails(): unknown {
    runs += 1;
    if (failures-- > 0) throw new InternalServerErrorException('crashed');
    return { run: runs };
  }

  @Post('stores-errors')
  @Idempotent({ storeErrors: true })
  storesErrors(): never {
    throw new BadRequestException({ reason: 'no', run: (runs += 1) });
  }

  @Post('unavailable')
  @Idempotent()
  unavailable(@Res({ passthrough: true }) response: AnyResponse): unknown {
    runs += 1;
    response.status(503);
    return { run: runs };
  }

  @Post('large')
  @Idempotent()
  large(): unknown {
    return { run: (runs += 1), text: 'x'.repeat(2_000) };
  }

  @Post('file')
  @Idempotent()
  file(): StreamableFile {
    return new StreamableFile(Buffer.from(`run ${(runs += 1)}`));
  }

  @Post('optional')
  @Idempotent({ required: false })
  optional(): unknown {
    return { run: (runs += 1) };
  }

  @Post('plain')
  plain(): unknown {
    return { run: (runs += 1) };
  }
}

const platforms: [string, () => ExpressAdapter | FastifyAdapter][] = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
];

describe.each(platforms)('an idempotent route on %s', (_name, adapter) => {
  const client = standaloneClient();
  let app: INestApplication;
  let url: string;
  let key: string;
  let keys = 0;

  beforeAll(async () => {
    class App {}
    const subject = (request: unknown): string | undefined =>
      (request as { headers: Record<string, string | undefined> }).headers['x-user'];
    Module({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
        OnceModule.forRoot({ maxResultBytes: 1_500, idempotency: { subject } }),
      ],
      controllers: [Orders],
    })(App);
    app = await NestFactory.create(App, adapter(), { logger: false, abortOnError: false });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });
  beforeEach(() => {
    key = `key-${(keys += 1)}`;
    runs = 0;
    failures = 0;
    gate = undefined;
  });
  afterAll(async () => {
    await app.close();
    client.disconnect();
  });

  async function post(path: string, headers: Record<string, string> = {}, body: unknown = { sku: 1 }) {
    const response = await fetch(`${url}/orders${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': 'ann', 'idempotency-key': key, ...headers },
      body: JSON.stringify(body),
    });
    const { status, headers: got } = response;
    return { status, body: await response.text(), replayed: got.get('idempotency-replayed'), headers: got };
  }

  it('replies to a repeat with the status, headers and body of the first response, and a header that marks the replay', async () => {
    const first = await post('');
    const again = await post('', { 'idempotency-key': `"${key}"` });
    expect(first).toMatchObject({ status: 202, replayed: null });
    expect(again).toMatchObject({ status: 202, body: first.body, replayed: 'true' });
    expect([again.headers.get('x-run'), again.headers.get('x-fixed')]).toEqual(['1', 'yes']);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect([first.headers.get('set-cookie'), again.headers.get('set-cookie')]).toEqual(['secret=1', null]);
    expect(runs).toBe(1);
  });

  it.each(['/text/7', '/nothing'])('replays the response of %s', async (path) => {
    const first = await post(path);
    const again = await post(path);
    expect([again.status, again.body, again.headers.get('content-type')]).toEqual([
      first.status,
      first.body,
      first.headers.get('content-type'),
    ]);
    expect([again.replayed, runs]).toEqual(['true', 1]);
  });

  it.each(['', '""', 'a b', 'a, b', 'x'.repeat(256)])('replies 400 to the key %j', async (bad) => {
    expect(await post('', { 'idempotency-key': bad })).toMatchObject({ status: 400 });
    expect(runs).toBe(0);
  });

  it('replies 400 without a key, unless required is false', async () => {
    const bare = (path: string) => fetch(`${url}/orders${path}`, { method: 'POST', headers: { 'x-user': 'ann' } });
    const refused = await bare('');
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining('Idempotency-Key is missing'),
    ]);
    expect((await bare('/optional')).status).toBe(201);
    expect((await bare('/plain')).status).toBe(201);
    expect(runs).toBe(2);
  });

  it('replies 409 with Retry-After while the first request is in progress, and afterwards its response', async () => {
    let open = (): void => undefined;
    gate = new Promise((resolve) => (open = resolve));
    const first = post('');
    await eventually(() => expect(runs).toBe(1));
    const second = await post('');
    expect(second.status).toBe(409);
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await post('', {}, { sku: 2 })).status).toBe(422);
    open();
    const { body } = await first;
    expect(await post('')).toMatchObject({ status: 202, body, replayed: 'true' });
    expect(runs).toBe(1);
  });

  it('runs the handler for one of many requests at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => post('')));
    expect(answers.filter(({ status, replayed }) => status === 202 && replayed === null)).toHaveLength(1);
    expect(answers.every(({ status }) => status === 202 || status === 409)).toBe(true);
    expect(runs).toBe(1);
  });

  it('replies 422 to a key that was used with another body, route or parameter', async () => {
    await post('/text/7');
    expect((await post('/text/7', {}, { sku: 2 })).status).toBe(422);
    expect((await post('/text/8')).status).toBe(422);
    expect((await post('/text/7?x=1')).status).toBe(422);
    expect((await post('/nothing')).status).toBe(422);
    expect(runs).toBe(1);
  });

  it('gives each subject its own keys, and refuses a request without a subject', async () => {
    const ann = await post('');
    const bob = await post('', { 'x-user': 'bob' });
    expect(bob).toMatchObject({ status: 202, replayed: null });
    expect(bob.body).not.toBe(ann.body);
    expect((await post('', { 'x-user': '' })).status).toBe(401);
    expect(runs).toBe(2);
  });

  it('frees the key when the handler throws or replies 5xx', async () => {
    failures = 1;
    expect((await post('/fails')).status).toBe(500);
    expect(await post('/fails')).toMatchObject({ status: 201, body: '{"run":2}', replayed: null });
    expect(await post('/fails')).toMatchObject({ status: 201, body: '{"run":2}', replayed: 'true' });
    key = `${key}-503`;
    expect(await post('/unavailable')).toMatchObject({ status: 503, body: '{"run":3}' });
    expect(await post('/unavailable')).toMatchObject({ status: 503, body: '{"run":4}', replayed: null });
  });

  it('stores errors with storeErrors', async () => {
    const first = await post('/stores-errors');
    expect(first).toMatchObject({ status: 400, body: '{"reason":"no","run":1}' });
    expect(await post('/stores-errors')).toMatchObject({ status: 400, body: first.body, replayed: 'true' });
  });

  it.each(['/large', '/file'])(
    'sends the response of %s in full, and 409 to a repeat: the response was not stored',
    async (path) => {
      expect((await post(path)).status).toBe(201);
      const again = await post(path);
      expect(again).toMatchObject({ status: 409, body: expect.stringContaining('RESPONSE_NOT_KEPT') });
      expect([again.headers.get('retry-after'), runs]).toEqual([null, 1]);
    },
  );
});
