import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { RawRedis } from '../../../libs/memory-redis/test/raw-redis';
import { freePort } from '../../../test/support/free-port';
import { BEGIN_MS } from '../engine/world';

/**
 * A real redis-server whose time of day is set by this process. The server is the installed one: a small library, which is loaded
 * before the C library, replaces the three functions that read the time of day. So the same scripts run, with the same expiries.
 */
export class ClockedRedis {
  private readonly bytes = Buffer.alloc(8);

  private constructor(
    readonly connection: RawRedis,
    private readonly child: ChildProcess,
    private readonly folder: string,
    private readonly clock: number,
  ) {
    process.once('exit', this.kill);
  }

  static async start(): Promise<ClockedRedis> {
    const folder = mkdtempSync(join(tmpdir(), 'luanest-explore-'));
    const file = join(folder, 'clock');
    writeFileSync(file, timeBytes(Buffer.alloc(8), BEGIN_MS * 1000));
    const port = await freePort();
    const child = spawn(
      'redis-server',
      [...`--port ${port} --appendonly no --dir ${folder}`.split(' '), '--save', ''],
      {
        stdio: 'ignore',
        env: { ...process.env, LD_PRELOAD: builtLibrary(), EXPLORE_CLOCK: file },
      },
    );
    const server = new ClockedRedis(await connect(port), child, folder, openSync(file, 'r+'));
    server.setTime(BEGIN_MS * 1000);
    const [time] = await server.connection.send([['TIME']]);
    if (time !== `*2\r\n$10\r\n${BEGIN_MS / 1000}\r\n$1\r\n0\r\n`) {
      server.stop();
      throw new Error(`The time of redis-server is not the one that was set, but ${JSON.stringify(time)}.`);
    }
    return server;
  }

  /** @param us microseconds since 1970 */
  setTime(us: number): void {
    writeSync(this.clock, timeBytes(this.bytes, us), 0, 8, 0);
  }

  private readonly kill = (): void => void this.child.kill('SIGKILL');

  stop(): void {
    this.connection.close();
    this.kill();
    process.off('exit', this.kill);
    closeSync(this.clock);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function timeBytes(bytes: Buffer, us: number): Buffer {
  bytes.writeBigInt64LE(BigInt(us));
  return bytes;
}

/** Returns the path of the library, which is built once for each version of its source. */
function builtLibrary(): string {
  const source = join(__dirname, 'clock.c');
  const version = createHash('sha1').update(readFileSync(source)).digest('hex').slice(0, 12);
  const path = join(tmpdir(), `luanest-clock-${process.getuid?.() ?? ''}-${version}.so`);
  if (!existsSync(path)) execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', path, source]);
  return path;
}

async function connect(port: number): Promise<RawRedis> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await RawRedis.connect(port);
    } catch (error) {
      if (attempt === 200) throw error;
      await after(25);
    }
  }
}
