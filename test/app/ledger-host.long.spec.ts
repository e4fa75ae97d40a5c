import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LedgerHost } from '../../src/ledger/ledger-host';
import { EmbeddedLedgerOpener, type LedgerOpener, PostgresLedgerOpener } from '../../src/ledger/ledger-openers';
import type { ReadableLedger } from '../../src/ledger/ledger.types';
import { waitUntil } from '../support/wait';
import { built, Program } from './support/processes';
import { makeDataFolder, removeFolder } from './support/temp-folder';

let dataDir: string;
let said: string[];
const hosts: LedgerHost[] = [];
const logger = {
  log: (message: string) => void said.push(message),
  warn: (message: string) => void said.push(message),
};

beforeEach(async () => {
  dataDir = await makeDataFolder();
  said = [];
});
afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.stop()));
  await removeFolder(dataDir);
});

async function start(opener: LedgerOpener): Promise<LedgerHost> {
  const host = new LedgerHost(opener, logger, 20);
  hosts.push(host);
  await host.start();
  return host;
}

it('has one owner a folder; another one serves without and takes over when the owner is killed', async () => {
  // The owner commits, says so, and is killed without any chance to close its database.
  const owner = Program.node(
    [
      '-e',
      `const { EmbeddedLedgerOpener } = require(${JSON.stringify(built('ledger/ledger-openers.js'))});
       (async () => {
         const { ledger } = await new EmbeddedLedgerOpener(${JSON.stringify(dataDir)}).tryOpen();
         const row = { activityKey: 'a@1', activityId: 'a', packetId: 'p1', userId: 'u1', amountCents: 7, grantedAtMs: 1, entryId: '1-0' };
         await ledger.credit([row]);
         console.log('committed');
         setInterval(() => ledger, 1000);
       })();`,
    ],
    {},
  );
  await owner.line(/committed/);

  const opener = new EmbeddedLedgerOpener(dataDir);
  await opener.announce('http://127.0.0.1:1');
  const other = await start(opener);
  expect(other.current()).toBeUndefined();
  expect(await other.problem()).toEqual({
    message: 'Another process owns the ledger. This one serves without it.',
    ownerUrl: 'http://127.0.0.1:1',
  });
  const opened: ReadableLedger[] = [];
  other.onOpen((ledger) => opened.push(ledger));

  await owner.end('SIGKILL');
  const ledger = await waitUntil('the other one took over', () => other.current());
  expect(opened).toEqual([ledger]);
  expect(await other.problem()).toBeUndefined();
  expect(await ledger.totals('a@1')).toMatchObject({ rows: 1, users: 1, cents: 7, conflicts: 0 });
  expect(await opener.ownerUrl()).toBeUndefined();
  expect(said).toEqual(['Another process owns the ledger. This one serves without it.', 'This process has the ledger']);

  await other.announce('http://127.0.0.1:2');
  expect(await opener.ownerUrl()).toBe('http://127.0.0.1:2');
  other.onOpen((late) => opened.push(late));
  expect(opened).toEqual([ledger, ledger]);
});

it('makes the database again when a process was killed while it made it', async () => {
  await rm(join(dataDir, 'ledger'), { recursive: true });
  await mkdir(join(dataDir, 'ledger.draft'));
  await writeFile(join(dataDir, 'ledger.draft', 'PG_VERSION'), '18\n');
  const host = await start(new EmbeddedLedgerOpener(dataDir));
  expect(await host.current()?.balance('nobody')).toBe(0);
});

it('serves without a ledger while PostgreSQL is unavailable, logs that once, and opens it afterwards', async () => {
  let away = true;
  const real: LedgerOpener = new PostgresLedgerOpener('postgres://nobody@127.0.0.1:1/none');
  const fake: ReadableLedger = {
    credit: jest.fn(),
    note: jest.fn(),
    totals: jest.fn(),
    payouts: jest.fn(),
    balance: jest.fn(),
    wrongAccounts: jest.fn(),
    wrongAccountsOf: jest.fn(),
    close: jest.fn(),
  };
  let attempts = 0;
  const host = await start({
    tryOpen: async () => {
      attempts += 1;
      return away ? real.tryOpen() : { ledger: fake, release: () => Promise.resolve() };
    },
    announce: () => Promise.resolve(),
    ownerUrl: () => Promise.resolve(undefined),
  });
  expect(await host.problem()).toEqual({
    message: expect.stringMatching(/^The ledger cannot be opened: .*ECONNREFUSED/),
  });
  await waitUntil('it has tried several times', () => attempts > 4);
  away = false;
  expect(await waitUntil('it has opened', () => host.current())).toBe(fake);
  expect(said).toEqual([expect.stringContaining('ECONNREFUSED'), 'This process has the ledger']);
});
