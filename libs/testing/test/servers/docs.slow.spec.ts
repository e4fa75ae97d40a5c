import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Cluster } from 'ioredis';
import type { FaultProxy } from 'luanest/testing/servers';
import { describeResending } from '../../../../test/support/client-kind';
import { sharedClusterNodes } from '../../../../test/support/shared-servers';
import { ROOT, runSnippet, snippetsOf } from '../../../../test/support/snippets';

interface Address {
  readonly host: string;
  readonly port: number;
}

const PAGE = 'docs/testing-servers.md';
const snippets = snippetsOf(PAGE);
const asItIs = (code: string): string => code;
// eslint-disable-next-line @typescript-eslint/no-require-imports -- the snippet's own imports, which Jest maps
const load = (name: string): unknown => require(name);

describeResending('the example for Jest', () => {
  // Its tests become tests of this file.
  runSnippet(snippets, join(ROOT, 'docs/testing-servers/reports.spec.ts'), asItIs, load);
});

it('the example for node:test passes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'luanest-docs-'));
  try {
    for (const [path, code] of snippets) writeFileSync(join(folder, basename(path)), code);
    const entry = join(ROOT, 'test/support/worker-entry.cjs');
    const { stdout, status } = spawnSync(process.execPath, [entry, join(folder, 'failover.test.ts')], {
      encoding: 'utf8',
      env: { ...process.env, NODE_PATH: join(ROOT, 'node_modules') },
      timeout: 80_000,
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^(# |ℹ )pass 1$/m) as string });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('the proxies of a Cluster are on the way of each command', async () => {
  const { throughProxies } = runSnippet<{
    readonly throughProxies: (
      nodes: readonly Address[],
    ) => Promise<{ proxies: FaultProxy[]; connection: { nodes: Address[]; natMap: Record<string, Address> } }>;
  }>(snippets, join(ROOT, 'docs/testing-servers/cluster-proxies.ts'), asItIs, load);
  const { proxies, connection } = await throughProxies(sharedClusterNodes());
  const { nodes, ...options } = connection;
  const client = new Cluster(nodes, { ...options, redisOptions: { maxRetriesPerRequest: 0 } });
  try {
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => client.exists(key)));
    expect(proxies.filter(({ connections }) => connections > 0).length).toBeGreaterThanOrEqual(3);
  } finally {
    client.disconnect();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
  }
});
