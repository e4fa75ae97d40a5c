import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './snippets';

/** Objects, functions and values of an app that an example may use without declaring them. */
const OF_THE_APP: Readonly<Record<string, string>> = {
  database: 'declare const database: { transaction<T>(work: (query: SqlQuery) => Promise<T>): Promise<T> };',
  jobs: 'declare const jobs: ScheduledLockService;',
  limits: 'declare const limits: RateLimitService;',
  locks: 'declare const locks: LockService;',
  once: 'declare const once: OnceService;',
  outbox: 'declare const outbox: OutboxService;',
  packets: 'declare const packets: RedPacketService;',
  registry: 'declare const registry: ScriptRegistry;',
  rewards: 'declare const rewards: ReadRewardService;',
  streams: 'declare const streams: StreamConsumerService;',
  tasks: 'declare const tasks: DelayedTaskService;',
  buy: "declare const buy: ScriptDefinition<readonly ['stock'], { readonly count: typeof int }, number>;",
  Order: 'interface Order { readonly id: string }',
};
for (const id of ['articleId', 'orderId', 'paymentId', 'requestId', 'userId']) {
  (OF_THE_APP as Record<string, string>)[id] = `declare const ${id}: string;`;
}
for (const name of ['cancelOrder', 'pay', 'save', 'sendMail', 'sendReport', 'ship', 'show', 'upload']) {
  (OF_THE_APP as Record<string, string>)[name] = `declare function ${name}(...args: unknown[]): Promise<unknown>;`;
}

/** Names of packages that examples use without an import. */
const OF_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@nestjs/common': ['Get', 'Post', 'UseGuards'],
  '@nestjs/schedule': ['Cron'],
  'node:crypto': ['randomUUID'],
};

/**
 * An example: a block of code, or one line of code in backquotes for a decorator. TypeScript takes an `@` at the beginning of a line for a
 * tag, in a block of code, too.
 */
const BLOCK = /^ *\* @example\n *\* (?:```ts\n((?: *\*(?: .*)?\n)+?) *\* ```|`(@.*)`)$/gm;

const uses = (code: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(code);

/**
 * Returns the `@example` blocks of the docstrings of a lib, by a path next to its file. Each is made a file that compiles: what the
 * example uses is imported or declared, and it is the body of a function, or the member of a class.
 *
 * @param names names that each door of the package exports
 */
export function examplesOf(lib: string, names: ReadonlyMap<string, readonly string[]>): Map<string, string> {
  const folder = join(ROOT, 'libs', lib, 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return new Map(
    files.flatMap((file) => {
      const text = readFileSync(join(folder, file), 'utf8');
      return [...text.matchAll(BLOCK)].map(([, lines = ''], i) => {
        const code = lines.replaceAll(/^ *\* ?/gm, '');
        return [join(folder, `${file}.example-${i + 1}.ts`), fileOf(code, names)] as const;
      });
    }),
  );
}

function fileOf(code: string, names: ReadonlyMap<string, readonly string[]>): string {
  const declared = Object.keys(OF_THE_APP).filter((name) => uses(code, name));
  const needed = [code, ...declared.map((name) => OF_THE_APP[name])].join('\n');
  const from = [...names, ...Object.entries(OF_PACKAGES)].flatMap(([door, exported]) => {
    // An example may define a script or a task of the name that another example uses.
    const used = exported.filter((name) => uses(needed, name));
    return used.length > 0 ? [`import { ${used.join(', ')} } from '${door}';`] : [];
  });
  const own = declared.filter(
    (name) => !new RegExp(`\\b(?:const|let) (?:${name}\\b|\\{[^}]*\\b${name}\\b)`).test(code),
  );
  const body = /^@|\n@/.test(code)
    ? `export class Example {\n${code}\n}`
    : `export async function example() {\n${code}\n}`;
  return [...from, ...own.map((name) => OF_THE_APP[name]), body].join('\n');
}
