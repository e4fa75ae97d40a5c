import { join } from 'node:path';
import { Module, type DynamicModule, type INestApplication, type ModuleMetadata, type Type } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { Redis } from 'ioredis';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { standaloneClient } from '../../script-registry/test/support';
import { Assets } from '../src/assets';
import { ConsoleModule } from '../src/console.module';
import type { ConsoleModuleExtras, ConsoleModuleOptions } from '../src/console.options';
import { CREATE_SECTIONS } from '../src/console.service';
import type { Done, Section, SectionContext } from '../src/console.types';

export const platforms: [string, () => ExpressAdapter | FastifyAdapter][] = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
];

/** A section of things in the memory of the test. */
export class Things implements Section {
  readonly name = 'things';
  readonly lists = [{ name: 'all', filters: ['old', 'color:'] }];
  readonly actions = [
    { name: 'drop', danger: true, on: 'both' },
    {
      name: 'move',
      danger: false,
      on: 'one',
      input: [
        { name: 'to', kind: 'text', required: true },
        { name: 'atMs', kind: 'instant', required: false },
      ],
    },
  ] as const;
  summaries = 0;
  readonly ran: unknown[] = [];
  /** Fails what asks for it. */
  error: Error | undefined;
  /** Called while an action runs. */
  during: () => unknown = () => undefined;
  done: Done = { count: 1 };

  constructor(readonly context: SectionContext) {}

  summary: Section['summary'] = () => {
    this.summaries += 1;
    if (this.error) return Promise.reject(this.error);
    const figures = [{ name: 'count', value: 3, address: ['things', 'all'] }];
    return Promise.resolve({ figures, sentences: [] });
  };

  list: Section['list'] = (address, query) => {
    if (this.error) return Promise.reject(this.error);
    const cells = [address.join('|'), JSON.stringify(query), this.context.payload({ secret: 1 })];
    return Promise.resolve({ columns: [{ name: 'thing' }], rows: [{ cells }] });
  };

  show: Section['show'] = (address) =>
    Promise.resolve(
      address.at(-1) === 'none' ? undefined : { title: address.join('|'), facts: [], sentences: [], actions: [] },
    );

  find: Section['find'] = (id) => {
    if (this.error) return Promise.reject(this.error);
    return Promise.resolve([{ address: ['things', 'all', id], kind: 'thing', title: id }]);
  };

  preview: Section['preview'] = (action, target, input) =>
    Promise.resolve({ count: 2, more: false, samples: [JSON.stringify({ action, target, input })], expected: 'v1' });

  run: Section['run'] = async (...request) => {
    await this.during();
    if (this.error) throw this.error;
    this.ran.push(request);
    return this.done;
  };
}

export interface ConsoleApp {
  readonly app: INestApplication;
  readonly url: string;
  readonly prefix: string;
  readonly client: Redis;
  readonly things: Things;
  close(): Promise<void>;
}

export interface AppOptions extends Omit<ModuleMetadata, 'imports'> {
  readonly adapter?: ExpressAdapter | FastifyAdapter;
  readonly console?: ConsoleModuleOptions & ConsoleModuleExtras;
  readonly module?: DynamicModule;
  readonly imports?: Type[];
  /** Of the registry; processes of one app have the same. */
  readonly prefix?: string;
  readonly prepare?: (app: INestApplication) => void;
}

/** Anybody may act, under the name in `x-user`; nobody without it. */
export const everybody: NonNullable<ConsoleModuleOptions['actor']> = (request) => {
  const { 'x-user': name, 'x-role': role = 'act' } = (request as { headers: Record<string, string | undefined> })
    .headers;
  return name === undefined ? undefined : { name, role: role as 'act' };
};

/** An app with a console of one section, on a port of its own. */
export async function openConsole(options: AppOptions = {}): Promise<ConsoleApp> {
  const { adapter = new ExpressAdapter(), prefix = uniquePrefix(), prepare, module, imports = [], ...rest } = options;
  const client = standaloneClient();
  class App {}
  const { console: given, ...metadata } = rest;
  Module({
    ...metadata,
    imports: [
      ScriptRegistryModule.forRoot({ client, prefix }),
      module ?? ConsoleModule.forRoot({ actor: everybody, readOnly: false, ...given }),
      ...imports,
    ],
  })(App);
  const made: Things[] = [];
  const create = (_app: unknown, context: SectionContext): Section[] => {
    made.push(new Things(context));
    return made;
  };
  const testing = await Test.createTestingModule({ imports: [App] })
    .overrideProvider(CREATE_SECTIONS)
    .useValue(create)
    .overrideProvider(Assets)
    .useValue(new Assets(join(__dirname, 'page')))
    .compile()
    .catch((error: unknown) => {
      client.disconnect();
      throw error;
    });
  const app = testing.createNestApplication(adapter, { logger: false });
  prepare?.(app);
  try {
    await app.listen(0, '127.0.0.1');
  } catch (error) {
    client.disconnect();
    throw error;
  }
  return {
    app,
    url: await app.getUrl(),
    prefix,
    client,
    get things() {
      if (made[0] === undefined) throw new Error('No request has used the sections yet.');
      return made[0];
    },
    async close() {
      await app.close();
      client.disconnect();
    },
  };
}

export const ANN = { 'x-user': 'ann' };

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests compare what they look at
  readonly body: Record<string, any>;
}

export async function get(url: string, headers: Record<string, string> = ANN): Promise<Reply> {
  return replyOf(await fetch(url, { headers, redirect: 'manual' }));
}

export async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    get body(): Reply['body'] {
      return JSON.parse(text) as Reply['body'];
    },
  };
}

/** Headers of a request of the page of `url`. */
export async function pageHeaders(url: string, user: Record<string, string> = ANN): Promise<Record<string, string>> {
  const { body } = await get(`${url}/api/me`, user);
  return {
    ...user,
    'content-type': 'application/json',
    'sec-fetch-site': 'same-origin',
    'x-luanest-console': String(body['csrf']),
  };
}

/** Sends a request for an action as the page does. Headers of '' are left out. */
export async function post(
  url: string,
  route: 'preview' | 'act',
  body: unknown,
  other: Record<string, string> = {},
  user: Record<string, string> = ANN,
): Promise<Reply> {
  const headers = { ...(await pageHeaders(url, user)), ...other };
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return replyOf(await fetch(`${url}/api/${route}`, { method: 'POST', headers: sent, body: text }));
}

export const DROP_ONE = { section: 'things', action: 'drop', target: { address: ['things', 'all', 'a'] } };
