-- grain: one number, the 97.5 % point of Student's distribution for these degrees of freedom, 1.3 or more. Fitted to log t; within 4e-8 of it
create or replace macro student_t(degrees) as exp(
    0.6729261237 + (
        1.210359757 + (
            0.707729912 + (
                0.1506683113 + (
                    -0.2271119181 + (-0.08482986414 + (0.1700469069 - 0.0578356859 / degrees) / degrees) / degrees
                ) / degrees
            ) / degrees
        ) / degrees
    ) / degrees
)
