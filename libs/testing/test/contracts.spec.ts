import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';

const LIBS = resolve(__dirname, '../..');
const libs = readdirSync(LIBS).filter((lib) => {
  const folder = resolve(LIBS, lib, 'test');
  return lib !== 'testing' && readdirSync(folder).includes('contract.spec.ts');
});

// The suites connect to the in-memory server then, see standaloneClient of script-registry's tests.
process.env.LUANEST_TEST_SERVER = 'memory';

const { each } = describe;
// A Cluster in memory does not exist. Each suite names the servers that it runs on.
describe.each = ((rows: readonly (readonly unknown[])[]) =>
  each(rows.filter((row) => !/cluster/i.test(String([row].flat()[0]))))) as typeof each;

afterAll(() => {
  describe.each = each;
});

it('finds the contract suites of all libs', () => {
  expect(libs.length).toBeGreaterThanOrEqual(9);
});

describe.each(libs.map((lib) => [lib] as const))('%s in memory', (lib) => {
  // Within `describe`, so that what a suite does before and after its tests is not done for those of the others.
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- it must be loaded after the variable was set
  require(`../../${lib}/test/contract.spec`);
});
