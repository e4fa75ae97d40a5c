import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { openBench, type Bench } from '../../../libs/red-packet/test/support';
import { migrateLedger } from '../../../src/ledger/ledger-migrations';
import { PostgresDatabase } from '../../../src/ledger/postgres-database';
import { SqlLedger } from '../../../src/ledger/sql-ledger';
import { PostgresServer } from './postgres-server';

/** Red packets on a Redis of the test's own, and a ledger in a PostgreSQL of its own. */
export interface PayoutBench extends Bench {
  readonly server: RedisServer;
  readonly postgres: PostgresServer;
  readonly database: PostgresDatabase;
  readonly ledger: SqlLedger;
  stop(): Promise<void>;
}

export async function startPayoutBench(): Promise<PayoutBench> {
  const [server, postgres] = await Promise.all([startRedis(), PostgresServer.start()]);
  const database = new PostgresDatabase(postgres.url);
  await migrateLedger(database);
  const bench = await openBench(new Redis(server.port));
  const stop = async (): Promise<void> => {
    bench.close();
    await database.close();
    await postgres.stop();
    await server.stop();
  };
  return { ...bench, server, postgres, database, ledger: new SqlLedger(database), stop };
}
