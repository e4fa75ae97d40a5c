import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { buildPage } from '../../../../tools/build-page.mjs';
import type { Target } from '../../src/console.types';
import { history, overview, PageData, SECTIONS } from './page-data';

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const CSRF = 'token-of-the-test';
/** The page is below two folders, since its URLs must hold under any prefix. */
const BASE = '/ops/console/';

interface Acted {
  readonly section: string;
  readonly action: string;
  readonly target: Target;
  readonly input: Readonly<Record<string, string | number>>;
  readonly expected?: string;
}

/** The page, and the HTTP API of the console with a fixed data set. */
export class PageServer {
  data = new PageData();
  role: 'read' | 'act' = 'act';
  /** Status with which the API refuses everything; 0: it works. */
  refuses = 0;
  /** Requests for actions that ran. */
  readonly acted: Acted[] = [];
  /** Paths of the API that were asked for. */
  readonly asked: string[] = [];
  private readonly streams = new Set<ServerResponse>();
  private readonly files = buildPage();

  private constructor(private readonly server: Server) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.serve(request, response));
  }

  static async start(): Promise<PageServer> {
    const server = createServer();
    const started = new PageServer(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${BASE}`;
  }

  /** Number of open streams of events. */
  get viewers(): number {
    return this.streams.size;
  }

  /** Bytes of all files that a browser gets. */
  get bytes(): number {
    const sent = [...this.files].filter(([name]) => name !== 'licences.txt');
    return sent.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0);
  }

  reset(): void {
    this.data = new PageData();
    this.role = 'act';
    this.refuses = 0;
    this.acted.length = 0;
    this.asked.length = 0;
  }

  /** Sends an event to all viewers. */
  send(event: string, data: object): void {
    for (const stream of this.streams) stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://page');
    const path = pathname.slice(BASE.length);
    if (!pathname.startsWith(BASE)) return send(response, 404, { message: `Cannot GET ${pathname}` });
    if (!path.startsWith('api/')) return this.file(response, path === '' ? 'index.html' : path.slice('assets/'.length));
    this.asked.push(path);
    if (this.refuses !== 0) return send(response, this.refuses, { message: 'The test refuses.' });
    const query = (name: string): string => searchParams.get(name) ?? '';
    if (path === 'api/live') return this.stream(response);
    if (request.method === 'POST') return this.act(request, response, path);
    const found = this.read(path, query);
    send(response, found === undefined ? 404 : 200, found ?? { message: 'There is nothing.' });
  }

  private read(path: string, query: (name: string) => string): object | undefined {
    const address = query('address').split('/').map(decodeURIComponent).join('/');
    switch (path) {
      case 'api/me':
        return { role: this.role, actor: 'ada', sections: SECTIONS, readOnly: false, csrf: CSRF, nowMs: Date.now() };
      case 'api/overview':
        return overview();
      case 'api/list':
        return this.data.list(address, query('filter'), query('cursor'));
      case 'api/show':
        return this.data.show(address);
      case 'api/find':
        return { matches: this.data.find(query('id')) };
      case 'api/history':
        return history(Number(query('minutes')));
      case 'api/log':
        return { items: this.log() };
      default:
        return undefined;
    }
  }

  private log(): object[] {
    const atMs = Date.now() - 5_000;
    const past = this.acted.map((act) => ({ ...act, atMs, actor: 'ada', result: 'done', count: 1 })).reverse();
    const refused = {
      code: 'queue-item-gone',
      text: 'Redis no longer has a task or a schedule with the id old.',
      level: 'warning',
      values: { id: 'old' },
    };
    const list = ['queues', 'dead'];
    return [
      ...past,
      {
        atMs: atMs - 60_000,
        actor: 'bob',
        section: 'queues',
        action: 'retry',
        target: { address: ['queues', 'tasks', 'emails', 'old'] },
        result: 'refused',
        count: 0,
        refused,
      },
      {
        atMs: atMs - 9_000_000,
        actor: 'ada',
        section: 'queues',
        action: 'drop',
        target: { list, filter: 'queue:emails' },
        result: 'failed',
        message: 'The connection to Redis is closed.',
      },
    ];
  }

  private async act(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.headers['x-luanest-console'] !== CSRF) return send(response, 403, { message: 'Wrong token.' });
    const wanted = JSON.parse(Buffer.concat(chunks).toString()) as Acted;
    const one = 'address' in wanted.target ? wanted.target.address.at(-1) : undefined;
    const ids = one === undefined ? this.data.dead : [one];
    if (path === 'api/preview') {
      const samples = ids.slice(0, 5);
      return send(response, 200, { count: ids.length, more: false, samples, expected: 'as seen' });
    }
    this.acted.push(wanted);
    if (wanted.action === 'resume') this.data.emailsPaused = false;
    else this.data.dead = this.data.dead.filter((id) => !ids.includes(id));
    send(response, 200, { count: ids.length });
  }

  private stream(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    this.streams.add(response);
    response.once('close', () => this.streams.delete(response));
    response.write(`event: overview\ndata: ${JSON.stringify(overview())}\n\n`);
  }

  private file(response: ServerResponse, name: string): void {
    const text = this.files.get(name);
    if (text === undefined) return send(response, 404, { message: `The page has no file ${name}.` });
    response.writeHead(200, { 'content-type': TYPES[extname(name)] ?? 'text/plain', 'content-security-policy': CSP });
    response.end(text);
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}
