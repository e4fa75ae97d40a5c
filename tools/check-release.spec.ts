import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { wrongAddresses, wrongChangelog } from './check-release.mjs';

const GOOD = {
  author: 'Ann Example <ann@example.org>',
  homepage: 'https://example.org/luanest/',
  repository: { type: 'git', url: 'git+https://example.org/ann/luanest.git' },
  bugs: { url: 'https://example.org/ann/luanest/issues' },
};

describe('tools/check-release.mjs', () => {
  it('lets addresses of an owner pass', () => {
    expect(wrongAddresses(GOOD)).toEqual([]);
    expect(wrongAddresses({ ...GOOD, author: 'Ann Example' })).toEqual([]);
  });

  it('reports what is missing', () => {
    expect(wrongAddresses({})).toEqual(
      ['author', 'homepage', 'repository.url', 'bugs.url'].map((field) => `package.json: ${field} is missing.`),
    );
  });

  it('reports a placeholder, and an address of another shape', () => {
    expect(
      wrongAddresses({ ...GOOD, homepage: 'https://OWNER.example.org/luanest/', repository: { url: 'ann/luanest' } }),
    ).toEqual([
      'package.json: homepage is "https://OWNER.example.org/luanest/". Replace the placeholder OWNER.',
      expect.stringMatching(/^package\.json: repository\.url is "ann\/luanest"\. Expected /) as string,
    ]);
  });

  it('wants the version and its date in the CHANGELOG', () => {
    expect(wrongChangelog('# Changelog\n\n## 0.2.0 (2026-12-01)\n\n## 0.1.0 (2026-11-01)\n', '0.2.0')).toEqual([]);
    expect(wrongChangelog('# Changelog\n\n## 0.2.0 (unreleased)\n', '0.2.0')).toEqual([
      'CHANGELOG.md: version 0.2.0 is "unreleased". Expected a date such as (2026-11-29).',
    ]);
    expect(wrongChangelog('# Changelog\n\n## 0.1.0 (2026-11-01)\n', '0.2.0')).toEqual([
      'CHANGELOG.md begins with version 0.1.0. package.json has 0.2.0.',
    ]);
  });

  it('stops npm from publishing this repository while it has placeholders', () => {
    const manifest = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
      author: string;
    };
    expect(manifest.scripts.prepublishOnly).toBe('node tools/check-release.mjs');
    const args = [join(__dirname, 'check-release.mjs'), '--addresses'];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    const wrong = wrongAddresses(manifest);
    expect([status, stderr.trim()]).toEqual([wrong.length > 0 ? 1 : 0, wrong.join('\n')]);
  });
});
