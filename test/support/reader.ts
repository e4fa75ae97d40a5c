import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import { blocksOf } from './markdown';
import { eventually } from './wait';

/** Response of a document's app. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
  readonly text: string;
}

/** Sends an HTTP request to an app that listens. */
export function request(app: INestApplication, method: string, path: string, init: RequestInit = {}): Promise<Answer> {
  return send(urlOf(app), method, path, init);
}

/** Sends an HTTP request to a server. @param url without a slash at the end */
export async function send(url: string, method: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url + path, { method, ...init });
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, body: /^[{[]/.test(text) ? JSON.parse(text) : text, text };
}

function urlOf(app: INestApplication): string {
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

/** Makes the request of a `curl` line. A time in its body that is some seconds ahead becomes a time that is five seconds ahead. */
async function curl(url: string, line: string): Promise<Answer> {
  const soon = String(Math.floor(Date.now() / 1_000) + 5);
  const plain = line.replaceAll(/'\$\(\(\$\(date \+%s\) \+ \d+\)\)'/g, soon);
  const words = [...plain.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const after = (flag: string): string[] => words.filter((_, i) => words[i - 1] === flag);
  const [body] = after('-d');
  const [method = body === undefined ? 'GET' : 'POST'] = after('-X');
  const headers = Object.fromEntries(after('-H').map((header) => header.split(': ') as [string, string]));
  const [path = ''] = words.filter((word) => word.startsWith('localhost:3000'));
  return send(url, method, path.replace('localhost:3000', ''), { headers, ...(body !== undefined && { body }) });
}

/** Returns a pattern for a text of a document, in which `...` matches anything. */
export function written(text: string): RegExp {
  const parts = text.split('...').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('.+')}$`);
}

/**
 * Makes the requests of a document's block of `curl` lines, one after the other, and compares each response with the comment
 * behind it. Loops are left to the test.
 *
 * @param app an app that listens, or the address of a server
 */
export async function follow(app: INestApplication | string, file: string, block = 0): Promise<Answer[]> {
  const [lines = ''] = blocksOf(file, 'sh')
    .filter((code) => code.startsWith('curl'))
    .slice(block);
  const url = typeof app === 'string' ? app : urlOf(app);
  const answers: Answer[] = [];
  for (const line of lines.split('\n').filter((text) => text.startsWith('curl'))) {
    const [command = '', said = '...'] = line.split(/ +# /);
    const wanted = said === 'the same' ? (answers.at(-1)?.text ?? '') : said;
    // GET requests are repeated, because results may appear later than for a reader.
    const answer = await eventually(
      async () => {
        const now = await curl(url, command);
        if (said !== '...') expect([command, now.text]).toEqual([command, expect.stringMatching(written(wanted))]);
        return now;
      },
      { timeoutMs: command.includes('-X') || command.includes('-d') ? 0 : 10_000 },
    );
    expect([command, answer.status < 300]).toEqual([command, true]);
    answers.push(answer);
  }
  expect(answers).not.toEqual([]);
  return answers;
}
