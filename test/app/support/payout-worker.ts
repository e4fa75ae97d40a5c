import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { RedPacketModule, RedPacketPayouts, RedPacketService } from 'luanest/red-packet';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumerModule } from 'luanest/stream-consumer';
import { PostgresDatabase } from '../../../src/ledger/postgres-database';
import { SqlLedger } from '../../../src/ledger/sql-ledger';
import type { Ledger } from '../../../src/ledger/ledger.types';
import { LedgerPayer } from '../../../src/ledger/payout/ledger-payer';

/** A step of paying at which the process is killed; `none` pays all. */
export const STEPS = ['taken', 'before-booking', 'in-booking', 'booked', 'settled', 'none'] as const;

/** Message of the parent to a worker. */
export interface PayoutJob {
  readonly redisUrl: string;
  readonly postgresUrl: string;
  readonly prefix: string;
  readonly step: (typeof STEPS)[number];
}

const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  // Nothing may run between the signal and the end.
  for (;;);
};

async function main({ redisUrl, postgresUrl, prefix, step }: PayoutJob): Promise<void> {
  const client = new Redis(redisUrl);
  const database = new PostgresDatabase(postgresUrl);
  const books = new SqlLedger(database);
  const ledger: Pick<Ledger, 'credit'> = {
    credit: async (rows) => {
      if (step === 'before-booking') die();
      const booking = books.credit(rows);
      // Sent, and perhaps done: nobody will know.
      if (step === 'in-booking') setTimeout(die, 2);
      const result = await booking;
      if (step === 'booked') die();
      return result;
    },
  };
  class App {}
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, prefix }),
      StreamConsumerModule.forRoot({}),
      RedPacketModule.forRoot({ identity: () => undefined, controller: false }),
    ],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const payer = new LedgerPayer(app.get(RedPacketService), ledger, { warn: () => undefined });
  let paid = 0;
  const work = { leaseMs: 500, concurrency: 40 };
  app.get(RedPacketPayouts).run(async (payout) => {
    if (step === 'taken') die();
    await payer.pay(payout);
    paid += 1;
    // By now the first ones are settled, or on their way to be.
    if (step === 'settled' && paid === 60) die();
  }, work);
}

process.once('message', (job: PayoutJob) => void main(job));
process.once('disconnect', () => process.exit());
