import { type ExecutionContext, type INestApplicationContext, Module, UnauthorizedException } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JwtService } from '@nestjs/jwt';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { LuanestTestingModule } from 'luanest/testing';
import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { claimFolder, readOrCreateSecret } from '../../src/platform/embedded/private-file';
import { AdminGuard, AdminToken } from '../../src/visitors/identity/admin.guard';
import { bearerToken } from '../../src/visitors/identity/bearer';
import { networkOf } from '../../src/visitors/identity/network-of';
import { GuestTokens } from '../../src/visitors/identity/guest-tokens';
import { makeTempFolder, removeFolder } from './support/temp-folder';

describe('GuestTokens', () => {
  const tokens = new GuestTokens('a secret of some length');
  const exp = Math.floor(Date.now() / 1_000) + 1_000;

  it('knows its own guests, in every process with the secret', () => {
    const { userId, token } = tokens.issue();
    expect(tokens.verify(token)).toBe(userId);
    expect(new GuestTokens('a secret of some length').verify(token)).toBe(userId);
    expect(tokens.issue().userId).not.toBe(userId);
  });

  it('refuses forged, damaged and foreign tokens', () => {
    const { token } = tokens.issue();
    const [head, claim, signature] = token.split('.') as [string, string, string];
    const claims = { sub: 'somebody', aud: 'guest', exp };
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

  it('refuses tokens of the right key with a subject that the app does not give', () => {
    const jwt = new JwtService({ secret: 'a secret of some length' });
    const sign = (claims: object): string => jwt.sign({ aud: 'guest', exp, ...claims }, { algorithm: 'HS256' });
    expect(tokens.verify(sign({ sub: 'somebody' }))).toBe('somebody');
    for (const claims of [{}, { sub: '' }, { sub: ' ' }, { sub: 'a\nb' }, { sub: 'x'.repeat(65) }])
      expect(tokens.verify(sign(claims))).toBeUndefined();
  });

  it('refuses tokens of the right key that never expire, or that need an extension', () => {
    const jwt = new JwtService({ secret: 'a secret of some length' });
    const claims = { aud: 'guest', sub: 'somebody' };
    expect(tokens.verify(jwt.sign(claims, { algorithm: 'HS256' }))).toBeUndefined();
    const header = { alg: 'HS256', crit: ['b64'], b64: true };
    expect(tokens.verify(jwt.sign({ ...claims, exp }, { algorithm: 'HS256', header }))).toBeUndefined();
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
  let app: INestApplicationContext;
  let guard: AdminGuard;
  const headers: string[] = [];
  beforeEach(async () => {
    headers.length = 0;
    class Root {}
    Module({ imports: [LuanestTestingModule.forRoot(), RateLimitModule.forRoot()] })(Root);
    app = await NestFactory.createApplicationContext(Root, { logger: false });
    guard = new AdminGuard(new AdminToken('the-admin-token'), app.get(RateLimitService));
  });
  afterEach(() => app.close());

  const from = (ip: string, authorization?: string) =>
    ({
      switchToHttp: () => ({
        getRequest: () => ({ ip, headers: { authorization } }),
        getResponse: () => ({ header: (name: string, value: string) => void headers.push(`${name}: ${value}`) }),
      }),
    }) as unknown as ExecutionContext;

  it('lets the token through and nothing else', async () => {
    expect(await guard.canActivate(from('10.0.0.1', 'Bearer the-admin-token'))).toBe(true);
    expect(await guard.canActivate(from('10.0.0.1', 'bearer the-admin-token'))).toBe(true);
    for (const header of [
      undefined,
      '',
      'the-admin-token',
      'Basic the-admin-token',
      'Bearer the-admin-toke',
      'Bearer ',
    ]) {
      await expect(guard.canActivate(from('10.0.0.1', header))).rejects.toThrow(UnauthorizedException);
    }
  });

  it('refuses a client that has tried too many tokens, and no other client', async () => {
    const right = 'Bearer the-admin-token';
    // The right token uses nothing up.
    for (let i = 0; i < 100; i += 1) expect(await guard.canActivate(from('10.0.0.1', right))).toBe(true);
    for (let i = 0; i < 30; i += 1) {
      await expect(guard.canActivate(from('10.0.0.1', `Bearer ${i}`))).rejects.toMatchObject({ status: 401 });
    }
    for (const header of ['Bearer 30', undefined, right]) {
      const refused = { status: 429, response: { code: 'TOO_MANY_SIGN_INS' } };
      await expect(guard.canActivate(from('10.0.0.1', header))).rejects.toMatchObject(refused);
    }
    expect(headers.at(-1)).toMatch(/^retry-after: [1-9]\d?$/);
    expect(await guard.canActivate(from('10.0.0.2', right))).toBe(true);
  });

  it('counts all addresses of an IPv6 network as one client', () => {
    expect(networkOf('10.0.0.1')).toBe('10.0.0.1');
    expect(networkOf('::ffff:10.0.0.1')).toBe('10.0.0.1');
    for (const address of ['2001:db8:1:2::1', '2001:DB8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::1%eth0'])
      expect(networkOf(address)).toBe('2001:db8:1:2::/64');
    expect(networkOf('2001:db8::1:2:3:4')).toBe('2001:db8:0:0::/64');
    expect(networkOf('::1')).toBe('0:0:0:0::/64');
    expect(networkOf('')).toBe('unknown');
  });

  it('finds no token in a value that is not a request', () => {
    for (const request of [undefined, null, {}, { headers: {} }, { headers: { authorization: ['Bearer a'] } }]) {
      expect(bearerToken(request)).toBeUndefined();
    }
  });
});

describe('claimFolder', () => {
  let folder: string;
  beforeEach(async () => (folder = await makeTempFolder()));
  afterEach(() => removeFolder(folder));

  it('closes a new or an empty folder to others, and does not touch one with files', async () => {
    expect(await claimFolder(join(folder, 'new'))).toBe(true);
    const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
    expect(await mode(join(folder, 'new'))).toBe(0o700);
    await mkdir(join(folder, 'empty'));
    await chmod(join(folder, 'empty'), 0o755);
    expect(await claimFolder(join(folder, 'empty'))).toBe(true);
    expect(await mode(join(folder, 'empty'))).toBe(0o700);
    await chmod(folder, 0o755);
    expect(await claimFolder(folder)).toBe(false);
    expect(await mode(folder)).toBe(0o755);
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
