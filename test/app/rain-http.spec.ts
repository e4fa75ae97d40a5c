import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpClient, RainRequestError } from '../../src/simulation/rain/http-client';

describe('HttpClient', () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const server = createServer((request, response) => answer(request, response));
  let base: string;
  const clients: HttpClient[] = [];
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => clients.splice(0).forEach((client) => client.close()));
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  const client = (patienceMs: number) => {
    clients.push(new HttpClient(base, 2, patienceMs));
    return clients.at(-1) as HttpClient;
  };

  it('asks again after a reset, a broken answer and a 5xx', async () => {
    let calls = 0;
    answer = (request, response) => {
      calls += 1;
      if (calls === 1) return void request.socket.destroy();
      if (calls === 2) return void response.writeHead(503).end('{}');
      if (calls === 3) {
        response.writeHead(200, { 'content-length': '100' }).write('{');
        return void setImmediate(() => request.socket.destroy());
      }
      if (calls === 4) return void response.end('{"half":');
      response.end(JSON.stringify({ seen: request.headers.authorization }));
    };
    const http = client(10_000);
    const { status, body } = await http.call({ method: 'POST', path: '/x', token: 't', body: { a: 1 } });
    expect([status, body, http.retries, http.answered]).toEqual([200, { seen: 'Bearer t' }, 4, 1]);
  });

  it('gives up in the end, and says why', async () => {
    answer = (_request, response) => void response.writeHead(500).end('out of order');
    await expect(client(200).call({ method: 'GET', path: '/x' })).rejects.toThrow(
      /GET \/x failed, also when repeated for up to 200 ms: status 500: out of order/,
    );
    await expect(client(200).call({ method: 'GET', path: '/x' })).rejects.toBeInstanceOf(RainRequestError);
  });

  it('reports once that it waits for the app', async () => {
    answer = (_request, response) => void response.writeHead(503).end('{}');
    const reported: unknown[] = [];
    const http = new HttpClient(base, 2, 4_000, (...facts) => reported.push(facts));
    clients.push(http);
    const calls = [1, 2].map(() => http.call({ method: 'GET', path: '/x' }));
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(reported).toEqual([[base, 4_000]]);
  });

  it('hands a refusal over at once', async () => {
    answer = (_request, response) => void response.writeHead(403).end('{"no":1}');
    const http = client(10_000);
    expect(await http.call({ method: 'GET', path: '/x' })).toMatchObject({ status: 403, body: { no: 1 } });
    expect(http.retries).toBe(0);
  });

  it('goes to the other processes if one is unavailable', async () => {
    answer = (_request, response) => void response.end('{"here":1}');
    const http = new HttpClient(`http://127.0.0.1:1,${base}`, 2, 10_000);
    clients.push(http);
    for (let i = 0; i < 3; i += 1) {
      expect(await http.call({ method: 'GET', path: '/x' })).toMatchObject({ body: { here: 1 }, origin: base });
    }
    expect(http.retries).toBeGreaterThan(0);
  });
});
