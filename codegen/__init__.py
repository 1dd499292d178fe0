"""From selected kernels and schedules to source text: lowering, kernel IR, legalisation, printing.

    Program, Schedule --lower--> Kernel --legalize--> Kernel --printer + dialect--> text

Start reading at `kernel` (the IR), then `lower` (block evaluation), then `dialects/c`.
"""
