import { Injectable } from '@nestjs/common';
import { DelayedTask, RetryTaskError } from 'luanest/delayed-task';
import { type CrowdOptions, CrowdService } from './crowd.service';

/** Name of the tasks that let a crowd loose. */
export const CROWD_TASK = 'rain.crowd';

const AGAIN_MS = 1_000;

/** Lets crowds loose that were ordered for later, on whatever process takes the task. */
@Injectable()
export class CrowdTasks {
  constructor(private readonly crowds: CrowdService) {}

  /** At least once: a crowd that comes twice taps twice, which grabs bear. */
  @DelayedTask(CROWD_TASK)
  start(crowd: CrowdOptions): void {
    if (this.crowds.busy) throw new RetryTaskError(AGAIN_MS, 'A crowd is here already.');
    this.crowds.start(crowd);
  }
}
