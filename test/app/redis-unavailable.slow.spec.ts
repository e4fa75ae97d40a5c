import { adminTokenOf, api, type ApiAnswer, createActivity, guestToken } from './support/api';
import { alive, type AppProcess, endOrphan, redisPid, startAppProcess } from './support/processes';
import { PostgresServer } from './support/postgres-server';
import { makeDataFolder, removeFolder } from './support/temp-folder';
import { waitUntil } from '../support/wait';

jest.setTimeout(120_000);

let ledger: PostgresServer;
let dataDir: string;
let app: AppProcess;

beforeAll(async () => {
  ledger = await PostgresServer.start();
  dataDir = await makeDataFolder();
  app = await startAppProcess(dataDir, { DATABASE_URL: ledger.url });
});
afterAll(async () => {
  await app.program.end('SIGTERM');
  await endOrphan(dataDir);
  await removeFolder(dataDir);
  await ledger.stop();
});

it('answers 503 while Redis does not answer, 200 afterwards, and /health all the time', async () => {
  const { url, program } = app;
  const admin = await adminTokenOf(dataDir);
  await createActivity(url, admin, 'hanging', 5, '5.00');
  const guest = await guestToken(url);
  const ask = (): Promise<ApiAnswer<{ code?: string }>[]> => {
    const reads = ['/rains/latest', '/rains', '/rains/hanging', '/red-packets/hanging'];
    return Promise.all([
      ...reads.map((path) => api<{ code?: string }>(url + path, 'GET', admin)),
      api<{ code?: string }>(`${url}/red-packets/hanging/grab`, 'POST', guest),
    ]);
  };
  const statuses = async (): Promise<number[]> => (await ask()).map(({ status }) => status);

  // A stopped server keeps its connections open and never replies, unlike one that has died.
  const redis = (await redisPid(dataDir)) as number;
  process.kill(redis, 'SIGSTOP');
  try {
    // No route was asked before, so none can answer from its short-lived cache.
    const [whileHanging, health] = await Promise.all([ask(), api(`${url}/health`, 'GET')]);
    expect(whileHanging.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    for (const { body } of whileHanging.slice(0, 4)) expect(body.code).toBe('REDIS_UNAVAILABLE');
    expect(health.status).toBe(200);
  } finally {
    process.kill(redis, 'SIGCONT');
  }
  await waitUntil('all routes answer 200', async () => (await statuses()).every((status) => status === 200));
  // Neither the app nor its Redis was started again.
  expect(alive(redis)).toBe(true);
  expect(program.running).toBe(true);
});
