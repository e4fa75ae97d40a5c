import { ConflictException, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

/** Where this process serves; known once it listens. */
export class AppAddress {
  url: string | undefined;
}

/** A crowd to let loose. */
export interface CrowdOptions {
  readonly activityId: string;
  /** 1 to 100,000. */
  readonly users: number;
  /** Of each user, 1 to 10. */
  readonly taps: number;
}

/** A crowd as its process is told of it: with `=`, so that an id that begins with dashes is no option of its own. */
export function crowdArgs(url: string, { activityId, users, taps }: CrowdOptions): string[] {
  return [`--url=${url}`, `--activity=${activityId}`, `--users=${users}`, `--taps=${taps}`];
}

/** Lets simulated crowds loose on this process, one at a time, each in a process of its own. */
@Injectable()
export class CrowdService implements OnApplicationShutdown {
  private readonly logger = new Logger(CrowdService.name);
  private child: ChildProcess | undefined;

  constructor(private readonly address: AppAddress) {}

  /** Whether a crowd is here. */
  get busy(): boolean {
    return this.child !== undefined;
  }

  /** @throws {ConflictException} while the last crowd is still here */
  start(crowd: CrowdOptions): void {
    const { url } = this.address;
    if (this.busy || url === undefined) throw new ConflictException('A crowd is here already. Wait until it has left.');
    const script = join(__dirname, 'crowd.main.js');
    const child = spawn(process.execPath, [script, ...crowdArgs(url, crowd)], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.child = child;
    child.stderr.on('data', (chunk: Buffer) => this.logger.warn(chunk.toString().trim()));
    child.once('error', (error) => this.logger.error(`The crowd could not start: ${error.message}`));
    child.once('close', () => (this.child = undefined));
  }

  onApplicationShutdown(): void {
    this.child?.kill('SIGTERM');
  }
}
