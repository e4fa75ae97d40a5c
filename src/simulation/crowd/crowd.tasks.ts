import { Injectable } from '@nestjs/common';
import { DelayedTask, retryLater } from 'luanest/delayed-task';
import { type CrowdOptions, CrowdService } from './crowd.service';

/** Name of the tasks that start a crowd. */
export const CROWD_TASK = 'rain.crowd';

const AGAIN_MS = 1_000;

/** Starts a crowd for each task: a child process of the process that runs the task. */
@Injectable()
export class CrowdTasks {
  constructor(private readonly crowds: CrowdService) {}

  /**
   * Starts a crowd (simulated users); if none can start now, tries again after 1 s. Waiting uses up no attempts, because another
   * crowd may run for minutes. A task may run twice. A second crowd is harmless: more users tap, but the rain has the same packets.
   */
  @DelayedTask(CROWD_TASK)
  start(crowd: CrowdOptions): ReturnType<typeof retryLater> | undefined {
    if (!this.crowds.canStart) return retryLater({ delayMs: AGAIN_MS, countsAsAttempt: false });
    this.crowds.start(crowd);
    return undefined;
  }
}
