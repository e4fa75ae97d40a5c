import { Module, type DynamicModule, type ExecutionContext, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { Redis } from 'ioredis';
import { RedPacketModule, RedPacketService } from 'luanest/red-packet';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { standaloneClient } from '../../script-registry/test/support';

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

interface Request {
  headers: Record<string, string | undefined>;
}

export const identity = (request: unknown): string | undefined => (request as Request).headers['x-user'];
export const isAdmin = (context: ExecutionContext): boolean =>
  context.switchToHttp().getRequest<Request>().headers['x-admin'] === 'yes';

export const admin = { 'x-admin': 'yes' };
export const figures = { activityId: 'a', totalCents: 1_000, packets: 10 };

export const platforms: [string, () => ExpressAdapter | FastifyAdapter][] = [
  ['Express', () => new ExpressAdapter()],
  // An activity's id may be longer than the 100 characters that Fastify allows by default.
  ['Fastify', () => new FastifyAdapter({ routerOptions: { maxParamLength: 1_200 } })],
];

/** Apps on ephemeral ports, and calls to the one that was served last. */
export class HttpBench {
  readonly prefix = uniquePrefix();
  private readonly apps: INestApplication[] = [];
  private url = '';

  constructor(
    readonly client: Redis,
    private readonly adapter: () => ExpressAdapter | FastifyAdapter,
  ) {}

  static open(adapter: () => ExpressAdapter | FastifyAdapter): HttpBench {
    return new HttpBench(standaloneClient(), adapter);
  }

  async serve(
    options: Parameters<typeof RedPacketModule.forRoot>[0],
    deadlineMs?: number,
    others: readonly DynamicModule[] = [],
  ): Promise<void> {
    class App {}
    const { client, prefix } = this;
    Module({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix, deadlineMs }),
        ...others,
        RedPacketModule.forRoot(options),
      ],
    })(App);
    const app = await NestFactory.create(App, this.adapter(), { logger: false, abortOnError: false });
    this.apps.push(app);
    await app.listen(0, '127.0.0.1');
    this.url = await app.getUrl();
  }

  /** The service of the app that was served last. */
  get service(): RedPacketService {
    return (this.apps.at(-1) as INestApplication).get(RedPacketService);
  }

  async call(method: string, path: string, headers: Record<string, string> = {}, body?: unknown): Promise<Answer> {
    const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
    const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(`${this.url}/red-packets${path}`, {
      method,
      headers: { ...json, ...headers },
      ...sent,
    });
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  }

  create(body: object = figures, headers: Record<string, string> = admin): Promise<Answer> {
    return this.call('POST', '', headers, body);
  }

  grab(user: string, id = 'a'): Promise<Answer> {
    return this.call('POST', `/${encodeURIComponent(id)}/grab`, { 'x-user': user });
  }

  status(id = 'a'): Promise<Answer> {
    return this.call('GET', `/${encodeURIComponent(id)}`);
  }

  records(query = '', headers: Record<string, string> = admin): Promise<Answer> {
    return this.call('GET', `/a/records${query}`, headers);
  }

  async close(): Promise<void> {
    await Promise.all(this.apps.map((app) => app.close()));
    this.client.disconnect();
  }
}
