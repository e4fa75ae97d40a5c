import { Module, type INestApplication, type NestInterceptor, type Provider, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { Redis } from 'ioredis';
import { OnceModule, type OnceModuleOptions } from 'luanest/once';
import { ScriptRegistryModule, type ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';

export const platforms: [string, () => ExpressAdapter | FastifyAdapter][] = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
];

export interface HttpOptions {
  readonly adapter: ExpressAdapter | FastifyAdapter;
  readonly client: Redis;
  readonly controllers: Type[];
  readonly providers?: Provider[];
  readonly interceptors?: NestInterceptor[];
  readonly registry?: ScriptRegistryModuleOptions;
  /** Options of OnceModule besides `idempotency`. */
  readonly once?: OnceModuleOptions;
  readonly idempotency?: Partial<NonNullable<OnceModuleOptions['idempotency']>>;
  /** Bodies that a test's parsers make. Default true. */
  readonly bodyParser?: boolean;
  readonly middlewares?: readonly unknown[];
  /** Whose keys those of a `x-user` are. Default: of just that text. */
  readonly subject?: (user: string) => string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  readonly replayed: string | null;
}

export interface HttpApp {
  readonly app: INestApplication;
  readonly url: string;
  post(path: string, key: string, headers?: Record<string, string>, signal?: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

/** An app that takes the subject from `x-user`. */
export async function openHttp(options: HttpOptions): Promise<HttpApp> {
  const { adapter, client, controllers, providers = [], interceptors = [], registry, once, idempotency } = options;
  const { subject: named = (user) => user } = options;
  class App {}
  const subject = (request: unknown): string | undefined => {
    const user = (request as { headers: Record<string, string | undefined> }).headers['x-user'];
    return user === undefined ? undefined : named(user);
  };
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix(), ...registry }),
      OnceModule.forRoot({ ...once, idempotency: { subject, ...idempotency } }),
    ],
    controllers,
    providers,
  })(App);
  const app = await NestFactory.create(App, adapter, {
    logger: false,
    abortOnError: false,
    bodyParser: options.bodyParser ?? true,
  });
  app.useGlobalInterceptors(...interceptors);
  for (const middleware of options.middlewares ?? []) app.use(middleware);
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  return {
    app,
    url,
    async post(path, key, headers = {}, signal) {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'x-user': 'ann', 'idempotency-key': key, ...headers },
        redirect: 'manual',
        ...(signal && { signal }),
      });
      const { status, headers: got } = response;
      return { status, headers: got, body: await response.text(), replayed: got.get('idempotency-replayed') };
    },
    async close() {
      await app.close();
      client.disconnect();
    },
  };
}
