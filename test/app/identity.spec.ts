import { type ExecutionContext, UnauthorizedException } from '@nestjs/common';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readOrCreateSecret } from '../../src/platform/embedded/private-file';
import { AdminGuard, AdminToken } from '../../src/visitors/identity/admin.guard';
import { bearerToken } from '../../src/visitors/identity/bearer';
import { GuestTokens } from '../../src/visitors/identity/guest-tokens';
import { makeTempFolder, removeFolder } from './support/temp-folder';

describe('GuestTokens', () => {
  const tokens = new GuestTokens('a secret of some length');

  it('knows its own guests, in every process with the secret', () => {
    const { userId, token } = tokens.issue();
    expect(tokens.verify(token)).toBe(userId);
    expect(new GuestTokens('a secret of some length').verify(token)).toBe(userId);
    expect(tokens.issue().userId).not.toBe(userId);
  });

  it('refuses forged, damaged and foreign tokens', () => {
    const { token } = tokens.issue();
    const [head, claim, signature] = token.split('.') as [string, string, string];
    const claims = { sub: 'somebody', aud: 'guest', exp: Math.floor(Date.now() / 1_000) + 1_000 };
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const other = encode(claims);
    const unsigned = `${encode({ alg: 'none', typ: 'JWT' })}.${other}.`;
    const bad = [
      '',
      '.',
      '..',
      claim,
      `${head}.${claim}`,
      `${head}.${claim}.`,
      `${head}.${other}.${signature}`,
      unsigned,
    ];
    bad.push(`${token}.x`, `${token}=`, `${token}!!`, `${head}.${claim}.${signature.slice(1)}`, tokens.issueForCrowd());
    for (const forged of bad) expect(tokens.verify(forged)).toBeUndefined();
    expect(new GuestTokens('another secret').verify(token)).toBeUndefined();
  });

  it('refuses a token from its expiry on', () => {
    let now = 1_000;
    const short = new GuestTokens('secret', 5_000, () => now);
    const { userId, token } = short.issue();
    now = 5_999;
    expect(short.verify(token)).toBe(userId);
    now = 6_000;
    expect(short.verify(token)).toBeUndefined();
  });
});

it("a crowd is known by its own token, and by no guest's", () => {
  const tokens = new GuestTokens('a secret of some length');
  const request = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
  expect(tokens.isCrowd(request(tokens.issueForCrowd()))).toBe(true);
  expect(tokens.isCrowd(request(tokens.issue().token))).toBe(false);
  expect(tokens.userOf(request(tokens.issueForCrowd()))).toBeUndefined();
});

describe('AdminGuard', () => {
  const guard = new AdminGuard(new AdminToken('the-admin-token'));
  const withHeader = (authorization?: string) =>
    ({ switchToHttp: () => ({ getRequest: () => ({ headers: { authorization } }) }) }) as ExecutionContext;

  it('lets the token through and nothing else', () => {
    expect(guard.canActivate(withHeader('Bearer the-admin-token'))).toBe(true);
    expect(guard.canActivate(withHeader('bearer the-admin-token'))).toBe(true);
    for (const header of [
      undefined,
      '',
      'the-admin-token',
      'Basic the-admin-token',
      'Bearer the-admin-toke',
      'Bearer ',
    ]) {
      expect(() => guard.canActivate(withHeader(header))).toThrow(UnauthorizedException);
    }
  });

  it('finds no token in a value that is not a request', () => {
    for (const request of [undefined, null, {}, { headers: {} }, { headers: { authorization: ['Bearer a'] } }]) {
      expect(bearerToken(request)).toBeUndefined();
    }
  });
});

describe('readOrCreateSecret', () => {
  let folder: string;
  beforeEach(async () => (folder = await makeTempFolder()));
  afterEach(() => removeFolder(folder));

  it('gives all who ask at once the same secret, and keeps it private', async () => {
    const path = join(folder, 'deep', 'secret');
    const answers = await Promise.all(Array.from({ length: 30 }, () => readOrCreateSecret(path)));
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^[0-9a-f]{64}$/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(folder, 'deep'))).toEqual(['secret']);
  });

  it('refuses an empty file instead of signing with nothing', async () => {
    await writeFile(join(folder, 'secret'), '\n');
    await expect(readOrCreateSecret(join(folder, 'secret'))).rejects.toThrow('is empty');
  });
});
