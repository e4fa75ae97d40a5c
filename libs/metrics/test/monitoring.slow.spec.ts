import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MONITORING, panelQueries } from './monitoring';

function promtool(file: string): string {
  const { status, stdout, stderr, error } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
  if (error) throw error;
  return status === 0 ? '' : stdout + stderr;
}

it('Prometheus takes the alert rules', () => {
  expect(promtool(join(MONITORING, 'alerts.yml'))).toBe('');
});

it('Prometheus takes each query of the dashboard, and refuses a wrong one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'luanest-promtool-'));
  const file = join(folder, 'rules.json');
  const check = (expressions: readonly string[]): string => {
    const rules = expressions.map((expr, i) => ({ record: `panel:${i}`, expr }));
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    return promtool(file);
  };
  try {
    const expressions = panelQueries().map(({ expression }) => expression);
    expect(check(expressions)).toBe('');
    expect(check(expressions.map((expression) => `${expression} by`))).not.toBe('');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
